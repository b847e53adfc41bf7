// Import directions between the rooms. See docs/architecture.md.
const rooms = (...names) => `^(${names.join('|')})/`;
const only = (room, allowed) => ({
  name: `${room}-imports`,
  severity: 'error',
  from: { path: `^${room}/` },
  to: {
    path: '^[a-z0-9]+/',
    dependencyTypesNot: ['core'],
    pathNot: [rooms(room, ...allowed), '^node_modules/'],
  },
});
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'domain-is-pure',
      severity: 'error',
      from: { path: '^domain/' },
      to: { pathNot: ['^domain/', '^node_modules/zod/'] },
    },
    {
      // Tests and benches look at a cluster from the outside.
      name: 'kubernetes-client-lives-in-k8s',
      severity: 'error',
      from: { pathNot: ['^k8s/', '^test/', '^bench/'] },
      to: { path: '@kubernetes/client-node' },
    },
    {
      name: 'workflows-see-domain-and-activity-types',
      severity: 'error',
      from: { path: '^workflows/' },
      to: {
        path: '^[a-z0-9]+/',
        pathNot: [rooms('workflows', 'domain'), '^node_modules/', '^activities/types\\.ts$'],
      },
    },
    only('statistics', ['domain']),
    only('embedded', ['domain']),
    only('instruments', ['tasks', 'domain']),
    only('tasks', ['domain']),
    only('sandbox', ['domain']),
    only('model', ['domain']),
    only('store', ['domain']),
    only('scaffolds', ['domain']),
    only('k8s', ['sandbox', 'domain']),
    only('activities', ['scaffolds', 'k8s', 'sandbox', 'model', 'store', 'tasks', 'domain']),
    only('worker', ['activities', 'workflows', 'k8s', 'sandbox', 'model', 'store', 'domain']),
    only('cli', [
      'embedded',
      'worker',
      'instruments',
      'tasks',
      'statistics',
      'store',
      'workflows',
      'sandbox',
      'scaffolds',
      'model',
      'domain',
    ]),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^passband-results' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
