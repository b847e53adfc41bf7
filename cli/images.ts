// passband images: base images from this machine, where no registry answers; and the images of tasks, for a cluster.
import { Command } from 'commander';
import { findEngine } from '../embedded/engine.ts';
import { registerBase } from '../sandbox/engine/base-images.ts';
import { parseEndpoint } from '../sandbox/engine/endpoint.ts';
import { parseBase, type BaseRequest } from '../sandbox/images/base-request.ts';
import { pushClusterBase } from '../worker/cluster-images.ts';
import { buildCommand } from './images-build.ts';
import { onInterrupt } from './interrupt.ts';
import { note, printJson, printLine } from './output.ts';
import { checkSandbox, kubernetesFile, withSandbox, type SandboxOption } from './sandbox-option.ts';
import { withStore } from './store-option.ts';

type BaseFlags = SandboxOption & {
  readonly engine?: string;
  readonly json?: boolean;
};

/** Where bases are brought to: one at a time, each to what FROM finds then. */
interface BaseTarget {
  bring(request: BaseRequest, signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

async function targetOf(flags: BaseFlags): Promise<BaseTarget> {
  checkSandbox(flags);
  if (flags.sandbox === 'kubernetes') {
    const file = kubernetesFile(flags.kubernetes, process.env);
    return {
      bring: (request, signal) => pushClusterBase(file, request, { env: process.env, say: note, signal }),
      close: () => Promise.resolve(),
    };
  }
  const engine = await findEngine(flags.engine ?? null, process.env);
  return {
    bring: (request, signal) => registerBase(parseEndpoint(engine.endpoint), request, note, signal),
    close: engine.stop,
  };
}

function baseCommand(): Command {
  return withSandbox(withStore(new Command('base')))
    .description(
      'register an image that FROM names and no registry gives: on the engine, or in a cluster’s registry',
    )
    .argument(
      '<name=source...>',
      'NAME=DIR (a root file system), NAME=TAR (one, or `docker save`), or NAME=debootstrap[:PACKAGE,...]',
    )
    .option('--engine <endpoint>', 'the container engine (default: found, or Podman is started)')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      [
        '',
        'Examples:',
        '  passband images base debian:12=debootstrap',
        '  passband images base debian:12=debootstrap:python3,tmux ubuntu:24.04=./ubuntu-root.tar',
        '  passband images base debian:12=./root --sandbox kubernetes --kubernetes kubernetes.yaml',
      ].join('\n'),
    )
    .action(async (sources: string[], flags: BaseFlags) => {
      const requests = await Promise.all(sources.map(parseBase));
      const interrupt = onInterrupt();
      const target = await targetOf(flags);
      try {
        const registered: { name: string; reference: string }[] = [];
        for (const request of requests) {
          const reference = await target.bring(request, interrupt.signal);
          registered.push({ name: request.name, reference });
        }
        if (flags.json === true) printJson({ registered });
        else for (const { name, reference } of registered) printLine(`${name} is ${reference}`);
      } finally {
        interrupt.off();
        await target.close();
      }
    });
}

export function imagesCommand(): Command {
  return new Command('images')
    .description('images that tasks are built on, and those of tasks')
    .addCommand(baseCommand())
    .addCommand(buildCommand());
}
