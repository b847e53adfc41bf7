// passband images base: base images from this machine, where no registry answers.
import { Command } from 'commander';
import { findEngine } from '../embedded/engine.ts';
import { parseBase, registerBase } from '../sandbox/engine/base-images.ts';
import { parseEndpoint } from '../sandbox/engine/endpoint.ts';
import { onInterrupt } from './interrupt.ts';
import { note, printJson, printLine } from './output.ts';
import { withStore } from './store-option.ts';

interface BaseFlags {
  readonly engine?: string;
  readonly json?: boolean;
}

function baseCommand(): Command {
  return withStore(new Command('base'))
    .description('register an image that FROM names and no registry gives')
    .argument(
      '<name=source...>',
      'NAME=DIR (a root file system), NAME=TAR (one, or `docker save`), or NAME=debootstrap[:PACKAGE,...]',
    )
    .option('--engine <endpoint>', 'the container engine (default: found, or Podman is started)')
    .option('--json', 'print one JSON document')
    .action(async (sources: string[], flags: BaseFlags) => {
      const requests = await Promise.all(sources.map(parseBase));
      const interrupt = onInterrupt();
      const engine = await findEngine(flags.engine ?? null, process.env);
      try {
        const registered: { name: string; reference: string }[] = [];
        for (const request of requests) {
          const reference = await registerBase(
            parseEndpoint(engine.endpoint),
            request,
            note,
            interrupt.signal,
          );
          registered.push({ name: request.name, reference });
        }
        if (flags.json === true) printJson({ registered });
        else for (const { name, reference } of registered) printLine(`${name} is ${reference}`);
      } finally {
        interrupt.off();
        await engine.stop();
      }
    });
}

export function imagesCommand(): Command {
  return new Command('images').description('images that tasks are built on').addCommand(baseCommand());
}
