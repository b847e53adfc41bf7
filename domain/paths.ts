// Absolute paths of a sandbox, compared as text: no component of them is a link.

/** True where `path` is `dir` or lies below it. */
export const isWithin = (path: string, dir: string): boolean =>
  path === dir || path.startsWith(dir === '/' ? '/' : `${dir}/`);
