// Known tasks for tests, made by hand: one step or several, with and without a near miss.
import type { KnownStep, KnownTask } from '../../instruments/known-rate/known-task.ts';

export function stepOf(name: string, files: Readonly<Record<string, string>>): KnownStep {
  return {
    name,
    files: Object.entries(files).map(([path, content]) => ({
      path,
      content: Buffer.from(content),
      executable: path.endsWith('.sh'),
    })),
    agentSec: 20,
    env: {},
  };
}

export const plainTask: KnownTask = {
  slug: 'plain',
  id: 'org/plain',
  diskMiB: 200,
  steps: [stepOf('main', { 'solve.sh': '#!/bin/sh\necho solved\n' })],
};

export const nearTask: KnownTask = {
  slug: 'near',
  id: 'org/near',
  diskMiB: 200,
  steps: [
    stepOf('main', { 'solve.sh': '#!/bin/bash\necho solved\n', 'near-miss.sh': '#!/bin/sh\necho undone\n' }),
  ],
};

export const stepsTask: KnownTask = {
  slug: 'steps',
  id: 'org/steps',
  diskMiB: 200,
  steps: ['one', 'two', 'three'].map((name) => stepOf(name, { 'solve.sh': `#!/bin/sh\necho ${name}\n` })),
};
