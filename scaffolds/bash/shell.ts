// The shell that the calls share: each is a command of its own, and what a shell knows goes from one to the next.
import type { PlainCommand } from '../../domain/ports.ts';

/**
 * Takes the command from stdin and the state that the last call left from the file that it is given, and leaves the
 * next one however the command ends, unless it is killed or replaces the shell. The state is what can be written
 * down: directory, variables, umask, options; under bash also functions, aliases and shopt.
 */
const call = `exec 2>&1
__passband_command=$(cat; printf x)
__passband_command=\${__passband_command%x}
__passband_state=$1
set --
exec </dev/null
__passband_options() { :; }
[ ! -f "$__passband_state" ] || . "$__passband_state" >/dev/null 2>&1
if [ -n "\${__passband_lost-}" ]; then
  command cd -- "$(command pwd -P)"
  printf 'the directory %s is gone: this is %s\\n' "$__passband_lost" "$PWD"
fi
unset -v __passband_lost
__passband_save() {
  {
    printf '__passband_options() {\\n'
    set +o
    printf '}\\n'
    set +eux
    unset -v __passband_command
    unset -f __passband_save
    if [ -n "\${BASH_VERSION-}" ]; then
      shopt -p
      declare -p
      declare -f
      declare -F
      alias -p
    else
      set
      export -p
    fi
    printf 'umask %s\\n' "$(umask)"
    printf '%s\\n' '__passband_old=\${OLDPWD-}' 'command cd -- "$PWD" || __passband_lost=$PWD'
    printf '%s\\n' 'OLDPWD=$__passband_old' 'unset -v __passband_old __passband_code'
  } >|"$1.new" && command -p mv -f -- "$1.new" "$1"
}
trap "{ __passband_save '$__passband_state'; } 2>/dev/null" EXIT
eval "{ unset -v __passband_command; __passband_options; unset -f __passband_options; } 2>/dev/null
$__passband_command"
{ __passband_code=$?; __passband_save "$__passband_state"; } 2>/dev/null
exit "$__passband_code"
`;

/**
 * bash where the image has it, else its sh. The state lies in memory and is no part of the agent's work. Where there is
 * one it is the whole environment: a variable that was unset does not come back.
 */
const script = `dir=/dev/shm
[ -w "$dir" ] || dir=\${TMPDIR:-/tmp}
state=$dir/.passband-shell-$(id -u)
shell=$(command -v bash || command -v sh)
if [ -f "$state" ]; then exec env -i "$shell" -c "$1" "$shell" "$state"; fi
exec "$shell" -c "$1" "$shell" "$state"
`;

/** One call as a command of the sandbox: started once under its own id, whoever asks for it. */
export function shellCommand(
  command: string,
  { timeoutMs, outputLimitBytes }: { readonly timeoutMs: number; readonly outputLimitBytes: number },
): PlainCommand {
  return { argv: ['sh', '-c', script, 'sh', call], env: {}, timeoutMs, outputLimitBytes, stdin: command };
}
