// passband images build: the images of a task set, pushed to a cluster's registry before a sweep asks for them.
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { failureTable } from '../domain/failures.ts';
import { readTaskSet } from '../tasks/task-set.ts';
import { clusterLacks, openClusterImages } from '../worker/cluster-images.ts';
import { makeImages, type FailedImage, type ImageSetReport } from './image-set.ts';
import { onInterrupt, orInterrupted } from './interrupt.ts';
import { positiveInt } from './numbers.ts';
import { exitCodes, note, printJson, printLine } from './output.ts';
import { kubernetesFile } from './sandbox-option.ts';
import { withStore } from './store-option.ts';

interface BuildFlags {
  readonly kubernetes?: string;
  readonly offlineBuild?: boolean;
  readonly strict?: boolean;
  readonly concurrency: number;
  readonly json?: boolean;
}

type Report = ImageSetReport & {
  /** References of `images` that were not there before. */
  readonly pushed: ReadonlySet<string>;
  readonly rejected: readonly { readonly task: string; readonly reason: string; readonly message: string }[];
};

/** One line for each image: its name by digest, and whether it was built. */
export function formatImages({ images, failed, rejected, pushed }: Report): string {
  return [
    ...rejected.map(({ task, reason, message }) => `rejected: ${task}: ${reason}: ${message}`),
    ...failed.map(
      ({ task, of, failureClass, message }) => `failed: ${task}: ${of}: ${failureClass}: ${message}`,
    ),
    ...images.map(
      ({ task, of, reference, digest }) =>
        `${task}: ${of}: ${reference}@${digest} (${pushed.has(reference) ? 'built' : 'there'})`,
    ),
    `${images.length} images there, ${images.filter(({ reference }) => pushed.has(reference)).length} of them built now, ${failed.length} failed, ${rejected.length} tasks rejected`,
  ].join('\n');
}

export function buildCommand(): Command {
  return withStore(new Command('build'))
    .description(
      'build and push the images of a task set for a cluster; what the registry has is not built again',
    )
    .argument('<dir>', 'a folder of task folders, or one task folder')
    .option(
      '--kubernetes <file>',
      'the driver’s YAML file, as examples/kubernetes.yaml (default: PASSBAND_KUBERNETES)',
    )
    .option('--offline-build', 'RUN has no network (a sweep with --offline-build asks for these images)')
    .option('--strict', 'unknown keys and tables are errors')
    .option('--concurrency <n>', 'images that are built at once', positiveInt, 2)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      [
        '',
        'Exits 0 where every image is there, 3 where one cannot be made or a task is rejected, 69 where a registry or',
        'BuildKit did not answer for ten minutes, 2 on bad input. Progress goes to stderr.',
        '',
        'Example:',
        '  passband images build ./tasks --kubernetes kubernetes.yaml',
      ].join('\n'),
    )
    .action(async (dir: string, flags: BuildFlags) => {
      const set = await readTaskSet(dir, {
        strict: flags.strict ?? false,
        env: process.env,
        unsupported: clusterLacks,
      });
      const pushed = new Set<string>();
      const file = kubernetesFile(flags.kubernetes, process.env);
      const builder = await openClusterImages(file, process.env, (reference) => {
        pushed.add(reference);
        note(`pushed ${reference}`);
      });
      const interrupt = onInterrupt();
      try {
        const making = makeImages(set.tasks, builder, {
          offline: flags.offlineBuild ?? false,
          atOnce: flags.concurrency,
          say: note,
          wait: (ms) => sleep(ms, undefined, { signal: interrupt.signal }),
          signal: interrupt.signal,
        });
        const made = await orInterrupted(interrupt.signal, making);
        const report = { ...made, rejected: set.rejected, pushed };
        if (flags.json === true) printJson(jsonOf(report));
        else printLine(formatImages(report));
        if (report.failed.length + report.rejected.length > 0) process.exitCode = exitCodes.uncovered;
        // Another run may do better.
        if (report.failed.some(isPlatforms)) process.exitCode = exitCodes.unavailable;
      } finally {
        interrupt.off();
        builder.close();
      }
    });
}

const isPlatforms = ({ failureClass }: FailedImage): boolean =>
  failureTable[failureClass].owner === 'platform';

const jsonOf = ({ images, pushed, failed, rejected }: Report) => ({
  images: images.map((image) => ({ ...image, built: pushed.has(image.reference) })),
  failed,
  rejected,
});
