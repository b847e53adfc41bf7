// The tools that the model is offered.
import type { ToolDefinition, ToolOffer } from '../../domain/tools.ts';
import type { BashOptions } from './options.ts';

const bashTool = (options: BashOptions): ToolDefinition => ({
  name: 'bash',
  description:
    'Runs a command in a shell on the machine and returns what it prints (stdout and stderr together) and its exit status. ' +
    'Directory, variables and functions stay from one call to the next. There is no terminal and no input: ' +
    'programs that ask or that draw a screen do not work. Start what is to go on running in the background, with &.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', description: 'The command: one line or a whole script.' },
      timeout_sec: {
        type: 'number',
        description:
          `Seconds after which the command is ended; ${options.command_timeout_sec} if left out, ` +
          `at most ${options.max_command_timeout_sec}.`,
      },
    },
    required: ['command'],
  },
});

const submitTool: ToolDefinition = {
  name: 'submit',
  description: 'Ends the work and hands it in. Nothing can be mended after it.',
  parameters: { type: 'object', properties: {} },
};

/** What every request offers under these options. */
export const offerOf = (options: BashOptions): ToolOffer => ({
  tools: options.finish === 'submit' ? [bashTool(options), submitTool] : [bashTool(options)],
  choice: options.tool_choice,
});
