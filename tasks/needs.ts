// What a task needs that some driver cannot give: each by name, and where the task says so.
import type { Task } from '../domain/task.ts';
import type { Place } from './findings.ts';
import type { ComposeFiles, ImageContext } from './images.ts';

type Need = Task['needs'][number];

export interface NeedSource {
  readonly need: Need;
  readonly place: Place;
}

export function findNeeds({ config, layout }: ImageContext, compose: ComposeFiles): NeedSource[] {
  const { toml } = config;
  const needs: NeedSource[] = [];
  const add = (need: Need, wanted: boolean, place: Place): void => {
    if (wanted && !needs.some((known) => known.need === need)) needs.push({ need, place });
  };

  for (const file of [compose.environment, compose.verifier]) {
    if (file !== null) add('compose', true, { file, key: 'services' });
  }
  const environments = [
    { table: toml.environment, at: ['environment'] },
    { table: toml.verifier.environment, at: ['verifier', 'environment'] },
    ...toml.steps.map((step, index) => ({
      table: step.verifier.environment,
      at: ['steps', index, 'verifier', 'environment'],
    })),
  ];
  for (const { table, at } of environments) {
    if (table === undefined) continue;
    const place = (key: string): Place => config.place(...at, key);
    add('gpu', (table.gpus ?? 0) > 0, place('gpus'));
    add('tpu', table.tpu !== undefined, place('tpu'));
    add('windows', table.os === 'windows', place('os'));
    add('mcp', (table.mcp_servers ?? []).length > 0, place('mcp_servers'));
    add('skills', table.skills_dir !== undefined, place('skills_dir'));
  }

  const networks = [
    ...environments,
    { table: toml.agent, at: ['agent'] },
    { table: toml.verifier, at: ['verifier'] },
    ...toml.steps.flatMap((step, index) => [
      { table: step.agent, at: ['steps', index, 'agent'] },
      { table: step.verifier, at: ['steps', index, 'verifier'] },
    ]),
  ];
  for (const { table, at } of networks) {
    add('allowlist', table?.network_mode === 'allowlist', config.place(...at, 'network_mode'));
  }
  add('prior-context', layout.hasFile('trajectory.json'), { file: 'trajectory.json' });
  return needs;
}
