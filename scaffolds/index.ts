// The scaffolds by name.
import { InputError } from '../domain/errors.ts';
import type { Scaffold } from '../domain/ports.ts';
import * as all from './all.ts';

export const scaffolds: readonly Scaffold[] = Object.values(all);

/** @throws InputError naming the scaffolds that there are */
export function scaffoldNamed(name: string): Scaffold {
  const found = scaffolds.find((scaffold) => scaffold.name === name);
  if (found !== undefined) return found;
  const names = scaffolds.map((scaffold) => scaffold.name).join(', ');
  throw new InputError(`unknown scaffold ${JSON.stringify(name)}: choose one of ${names}`);
}
