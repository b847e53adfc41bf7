// The build context of a Dockerfile: which folder it is, and what COPY and ADD name that is not in it.
import { posix } from 'node:path';
import { Copy, DockerfileParser, type Instruction } from 'dockerfile-ast';
import { z } from 'zod';
import { isInContext, isWithin, type TaskFile } from './files.ts';
import type { Findings } from './findings.ts';

export interface BuildContext {
  readonly dir: string;
  /** Path of the Dockerfile inside the context. */
  readonly dockerfile: string;
}

interface CopySource {
  readonly source: string;
  readonly line: number;
}

/**
 * The context of `dir`/Dockerfile: its own folder, or the task's root where what it copies is found only there.
 * Sources that are in neither are named: such an image does not build.
 */
export function chooseContext(
  dir: string,
  text: string,
  files: readonly TaskFile[],
  findings: Findings,
): BuildContext {
  const file = `${dir}/Dockerfile`;
  const dockerfile = DockerfileParser.parse(text);
  if (dockerfile.getFROMs().length === 0) {
    findings.error({ file }, 'has no FROM: it is no Dockerfile');
  }
  const sources = dockerfile.getInstructions().flatMap(copySources);
  const missing = sources.filter(({ source }) => !isIn(files, dir, source));
  const visible = files.filter((entry) => isInContext(entry.path, '.'));
  if (missing.length > 0 && sources.every(({ source }) => isIn(visible, '.', source))) {
    findings.warn(
      { file, line: missing[0]?.line ?? null },
      "copies what only the task's root holds: built with the root as its context, tests and solutions left out",
    );
    return { dir: '.', dockerfile: file };
  }
  for (const { source, line } of missing) {
    const tests = isIn(files, '.', source)
      ? ' (the image may not hold tests or solutions, or mix two contexts)'
      : '';
    findings.warn(
      { file, line },
      `copies ${source}, which is not in ${dir}/: the image will not build${tests}`,
    );
  }
  return { dir, dockerfile: 'Dockerfile' };
}

function copySources(instruction: Instruction): CopySource[] {
  if (!['COPY', 'ADD'].includes(instruction.getKeyword())) return [];
  if (instruction instanceof Copy && instruction.getFromFlag() !== null) return [];
  const content = instruction.getArgumentsContent() ?? '';
  if (/<<-?["']?\w/.test(content)) return [];
  const names = jsonForm(content) ?? instruction.getArguments().map((argument) => argument.getValue());
  const line = instruction.getRange().start.line + 1;
  return names
    .slice(0, -1)
    .filter((name) => !name.includes('$') && !/^[a-z][a-z0-9+.-]*:\/\/|^git@/i.test(name))
    .map((source) => ({ source, line }));
}

function jsonForm(content: string): string[] | null {
  if (!content.trimStart().startsWith('[')) return null;
  try {
    return z.array(z.string()).parse(JSON.parse(content));
  } catch {
    // The builder, too, reads what is no JSON array as plain words.
    return null;
  }
}

function isIn(files: readonly TaskFile[], dir: string, source: string): boolean {
  const wanted = posix
    .normalize(source)
    .replace(/^(?:\.\.\/|\/)+/, '')
    .replace(/\/$/, '');
  if (wanted === '' || wanted === '.' || wanted === '..') return true;
  return files.some(({ path, kind }) => {
    if (!isWithin(path, dir)) return false;
    const inside = dir === '.' ? path : path.slice(dir.length + 1);
    // What lies behind a link to a folder is not listed.
    const behindLink = kind === 'symlink' && wanted.startsWith(`${inside}/`);
    return inside === wanted || behindLink || posix.matchesGlob(inside, wanted);
  });
}
