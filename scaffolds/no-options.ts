// For scaffolds that take no options: any is refused by name.
import { InputError } from '../domain/errors.ts';

/** @throws InputError naming the first option that was given */
export function refuseOptions(
  scaffold: string,
  options: Readonly<Record<string, unknown>>,
): Readonly<Record<string, never>> {
  const [first] = Object.keys(options);
  if (first !== undefined)
    throw new InputError(`scaffold ${scaffold}: unknown option ${first}; it takes none`);
  return {};
}
