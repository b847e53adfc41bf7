// one-script: asks the model for one shell script, runs it, and is done.
import { z } from 'zod';
import type { ChatMessage, Scaffold } from '../../domain/ports.ts';
import { readOptions } from '../../scaffolds/read-options.ts';

const OptionsSchema = z.strictObject({ timeout_sec: z.number().positive().default(600) });
const parseOptions = (written: Readonly<Record<string, unknown>>) =>
  readOptions('one-script', OptionsSchema, written);

const words =
  'Reply with one shell script between <script> and </script>. It is run once, and what it leaves is graded.';
const scriptIn = (text: string): string | null => /<script>\n?([\s\S]*?)<\/script>/.exec(text)?.[1] ?? null;

export const oneScript: Scaffold = {
  name: 'one-script',
  version: '1.0.0', // any change of words, parsing or the order of calls raises it
  needsSolution: false,
  needsModel: true,
  parseOptions,
  episode: async ({ instruction, options }, { model, terminal, log, keepMessages }) => {
    const messages: ChatMessage[] = [
      { role: 'system', content: words },
      { role: 'user', content: instruction },
    ];
    log({ source: 'user', message: instruction });
    const answer = await model.ask(messages);
    if (answer.kind === 'overflow') return { ending: 'out-of-context', detail: answer.message };
    keepMessages([...messages, { role: 'assistant', content: answer.text }]);

    const script = answer.finishReason === 'length' ? null : scriptIn(answer.text);
    if (script === null) {
      log({ source: 'agent', message: answer.text, call: 0 });
      return { ending: 'no-valid-call', detail: 'the reply holds no whole script' };
    }
    const timeoutMs = parseOptions(options).timeout_sec * 1_000;
    const { exitCode, output } = await terminal.run({
      argv: ['sh'],
      env: {},
      stdin: script,
      timeoutMs,
      outputLimitBytes: 20_000,
    });
    log({ source: 'agent', message: answer.text, observation: output, call: 0 });
    return { ending: 'completed', detail: exitCode === 0 ? null : `exit status ${exitCode}` };
  },
};
