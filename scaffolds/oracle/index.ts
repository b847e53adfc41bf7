// Oracle: runs the task's own solution, so that a task which cannot be solved is found out.
import type { Scaffold } from '../../domain/ports.ts';
import { refuseOptions } from '../no-options.ts';

/**
 * bash where the image has it; without it, or under an interpreter of another kind, what the first line names; else
 * sh. The log goes to /logs/agent/oracle.txt where that can be written, and its end to stdout.
 */
export const oracleScript = `script=/solution/solve.sh
log=/logs/agent/oracle.txt
IFS= read -r first <"$script"
case "$first" in
'#!'*sh | '#!'*sh[[:space:]]*) shell=yes ;;
'#!'*) shell=no ;;
*) shell=yes ;;
esac
if [ "$shell" = yes ] && command -v bash >/dev/null 2>&1; then set -- bash "$script"
elif [ "$first" != "\${first#\\#!}" ] && [ -x "$script" ]; then set -- "$script"
else set -- sh "$script"
fi
mkdir -p /logs/agent 2>/dev/null
if (: >"$log") 2>/dev/null; then
  "$@" >"$log" 2>&1
  code=$?
  tail -c 4000 "$log" 2>/dev/null
  exit "$code"
fi
exec "$@"
`;

export const oracle: Scaffold = {
  name: 'oracle',
  version: '1.0.0',
  needsSolution: true,
  needsModel: false,
  parseOptions: (options) => refuseOptions('oracle', options),
  episode: async ({ instruction, solutionEnv }, { terminal, log }) => {
    log({ source: 'user', message: instruction });
    const { exitCode, output } = await terminal.run({
      argv: ['sh', '-c', oracleScript],
      env: { DEBIAN_FRONTEND: 'noninteractive', ...solutionEnv },
      timeoutMs: null,
    });
    log({
      source: 'agent',
      message: 'Runs the reference solution.',
      toolCalls: [{ id: 'call_0_1', name: 'run', arguments: { script: '/solution/solve.sh' } }],
      observation: output,
    });
    return { ending: 'completed', detail: exitCode === 0 ? null : `solve.sh exited with status ${exitCode}` };
  },
};
