// Image references as people write them, spelled out: short names are Docker Hub's, no tag is `latest`.

export interface Reference {
  /** As the reference names it; which registry stands in for it is another matter. */
  readonly host: string;
  readonly repository: string;
  /** Null where a digest alone names the image. */
  readonly tag: string | null;
  readonly digest: string | null;
}

const component = '[a-z0-9]+(?:(?:\\.|_{1,2}|-+)[a-z0-9]+)*';
const grammar = new RegExp(
  `^(?<path>(?:[A-Za-z0-9.-]+(?::\\d+)?/)?${component}(?:/${component})*)(?::(?<tag>\\w[\\w.-]{0,127}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$`,
);

/** Null where the text names no image. */
export function parseReference(text: string): Reference | null {
  const { path, tag, digest } = grammar.exec(text)?.groups ?? {};
  if (path === undefined) return null;
  const { host, repository } = splitHost(path);
  const named = digest === undefined ? (tag ?? 'latest') : (tag ?? null);
  return { host, repository, tag: named, digest: digest ?? null };
}

function splitHost(path: string): { readonly host: string; readonly repository: string } {
  const [first = '', ...rest] = path.split('/');
  if (rest.length === 0) return { host: 'docker.io', repository: `library/${path}` };
  if (!/[.:]|^localhost$/.test(first)) return { host: 'docker.io', repository: path };
  const repository = rest.join('/');
  if (first !== 'docker.io' && first !== 'index.docker.io') return { host: first, repository };
  return { host: 'docker.io', repository: rest.length === 1 ? `library/${repository}` : repository };
}

/** The whole of it: `docker.io/library/debian:12`. */
export function spell({ host, repository, tag, digest }: Reference): string {
  return `${host}/${repository}${tag === null ? '' : `:${tag}`}${digest === null ? '' : `@${digest}`}`;
}
