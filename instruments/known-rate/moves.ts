// The moves of one conversation: what a known-rate model does in a step, in order, given its intent.
import type { FailurePlan, Intent } from './intent.ts';
import type { KnownTask } from './known-task.ts';
import { typeSolution, type Keys } from './typing.ts';

export type Move =
  | { readonly kind: 'act'; readonly thought: string; readonly keys: readonly Keys[] }
  /** A reply that no parser of the protocol takes. */
  | { readonly kind: 'slip'; readonly text: string }
  /** Looks at the screen until it shows the sentinel. */
  | { readonly kind: 'await' }
  /** Looks at the screen for ever, so many seconds each time. */
  | { readonly kind: 'linger'; readonly seconds: number }
  /** Says that the task is complete, as often as it is asked. */
  | { readonly kind: 'finish'; readonly thought: string };

const look: Move = {
  kind: 'act',
  thought: 'First I look at what is there.',
  keys: [{ keystrokes: 'pwd; ls -la\n', duration: 0.1 }],
};

/** Each of them fails every repair of the protocol: no object at all, or an array that never closes. */
const slips = [
  'I think that the files are in place. Let me look at them once more before I go on.',
  '{"analysis": "The files are in place.", "plan": "Look at them again.", "commands": [{"keystrokes": "ls\\n"',
] as const;

const slip = (intent: Intent): Move => ({
  kind: 'slip',
  text: intent.stepDraw < 0.5 ? slips[0] : slips[1],
});

const wrongFile: Move = {
  kind: 'act',
  thought: 'I write the answer down.',
  keys: [{ keystrokes: "mkdir -p answer; printf 'see above\\n' > answer/result.txt\n", duration: 0.1 }],
};

function solving(
  intent: Intent,
  task: KnownTask,
  step: number,
  work: { tag: string; miss: boolean },
): Move[] {
  const known = task.steps[step];
  if (known?.files.some((file) => file.path === 'solve.sh') !== true) {
    return [look, { kind: 'finish', thought: 'Nothing is to be done here.' }];
  }
  return [
    look,
    ...(intent.slips && !work.miss ? [slip(intent)] : []),
    {
      kind: 'act',
      thought: 'I write the solution and run it.',
      keys: typeSolution(known, work.tag, work.miss),
    },
    { kind: 'await' },
    { kind: 'finish', thought: 'It ran to its end, and the work is in place.' },
  ];
}

/** Files in memory belong to no process: with all of them killed the memory is still taken, and PID 1 goes as the last. */
const fillMemory = 'i=0; while head -c 4M /dev/zero > /dev/shm/$i; do i=$((i+1)); done';

/** Half as much again as the sandbox may hold. */
const fillDisk = (diskMiB: number): string => `head -c ${Math.ceil(diskMiB * 1.5)}M /dev/zero > full`;

/** Starts a command that does not come back, and waits for it until something else ends the episode. */
function waitingFor(command: string, task: KnownTask, step: number): Move[] {
  const agentSec = task.steps[step]?.agentSec ?? 60;
  return [
    look,
    {
      kind: 'act',
      thought: 'I start the work and wait for it.',
      keys: [{ keystrokes: `${command}\n`, duration: 0.5 }],
    },
    { kind: 'linger', seconds: Math.min(30, Math.max(1, agentSec / 4)) },
  ];
}

/** The moves of one step of a trial. `tag` is its own, so that no other step's screen is taken for its own. */
export function movesOf(
  intent: Intent,
  failure: FailurePlan | null,
  place: { readonly task: KnownTask; readonly step: number; readonly tag: string },
): Move[] {
  const { task, step, tag } = place;
  if (failure === null || step < failure.step) return solving(intent, task, step, { tag, miss: false });
  const givesUp: Move[] = [look, { kind: 'finish', thought: 'This looks finished to me.' }];
  if (step > failure.step) return givesUp;
  switch (failure.way) {
    case 'gives-up-early':
      return givesUp;
    case 'wrong-file':
      return [look, wrongFile, { kind: 'finish', thought: 'The answer is written.' }];
    case 'breaks-protocol-once':
      return [look, slip(intent), wrongFile, { kind: 'finish', thought: 'The answer is written.' }];
    case 'one-assertion':
      return solving(intent, task, step, { tag, miss: true });
    case 'never-finishes':
      return waitingFor('sleep 1000000', task, step);
    case 'eats-memory':
      return waitingFor(`${fillMemory}; sleep 1000000`, task, step);
    case 'fills-disk':
      return waitingFor(`${fillDisk(task.diskMiB)}; sleep 1000000`, task, step);
  }
}
