// A store by its location: a path, `file:///DIR`, or `s3://BUCKET/PREFIX?endpoint=URL&region=NAME&pathStyle=0|1`.
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { InputError } from '../domain/errors.ts';
import { openFilesystemStore } from './filesystem.ts';
import { checkPrefix } from './keys.ts';
import type { Store } from './port.ts';
import type { S3Location } from './s3.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const bucketSchema = z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/);
const endpointSchema = z.url({ protocol: /^https?$/ });
const querySchema = z.strictObject({
  endpoint: endpointSchema.optional(),
  region: z.string().min(1).optional(),
  pathStyle: z.enum(['0', '1']).optional(),
});

/**
 * Opens the store; nothing is asked of it yet (see Store.check). `store.url` opens the same store again.
 * An S3 endpoint may come from AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL; credentials come from the SDK's default chain.
 * @throws InputError where the location cannot be read.
 */
export async function openStore(location: string, env: Environment = {}): Promise<Store> {
  if (location === '')
    throw new InputError('the store is empty: give a folder, file:///DIR or s3://BUCKET/PREFIX');
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(location)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      return openFilesystemStore(location);
    case 'file':
      return openFilesystemStore(folderOf(location));
    case 's3': {
      // The S3 client takes a fifth of a second to load, which commands over a folder need not pay.
      const { openS3Store } = await import('./s3.ts');
      return openS3Store(parseS3Url(location, env));
    }
    default:
      throw new InputError(
        `store ${location}: no store speaks ${scheme}://: give a folder, file:///DIR or s3://BUCKET/PREFIX`,
      );
  }
}

/** The folder that everything in a store lies in. */
const storeFolder = 'v1/';

/** Opens a store that is only read. @throws InputError as openStore does, and where nothing was written there. */
export async function openWrittenStore(location: string, env: Environment = {}): Promise<Store> {
  const store = await openStore(location, env);
  try {
    for await (const folder of store.listFolders('')) if (folder === storeFolder) return store;
    throw new InputError(
      `no store at ${store.url}: nothing was written there yet; give the --store that the sweep was started with`,
    );
  } catch (error) {
    await store.close();
    throw error;
  }
}

function folderOf(location: string): string {
  try {
    return fileURLToPath(location);
  } catch {
    throw new InputError(`store ${location}: a file URL has three slashes and no host: file:///DIR`);
  }
}

/** Reads an s3:// URL. @throws InputError that says which part is wrong; a secret in it is not repeated. */
export function parseS3Url(location: string, env: Environment): S3Location {
  if (!URL.canParse(location)) throw new InputError(`store ${location}: expected s3://BUCKET/PREFIX`);
  const url = new URL(location);
  if (url.username !== '' || url.password !== '') {
    throw new InputError(
      `store s3://${url.host}: credentials do not belong in a URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE`,
    );
  }
  const wrong = (what: string): InputError => new InputError(`store ${location}: ${what}`);
  const bucket = bucketSchema.safeParse(url.host);
  if (!bucket.success) throw wrong(`"${url.host}" is no bucket name`);
  if (url.hash !== '') throw wrong('a # is no part of an s3 URL: write %23');
  const query = querySchema.safeParse(Object.fromEntries(url.searchParams));
  if (!query.success) {
    const [issue] = query.error.issues;
    throw wrong(
      issue?.code === 'unrecognized_keys'
        ? `unknown ${issue.keys.join(', ')}: it takes endpoint, region and pathStyle`
        : `${issue?.path.join('.') ?? 'query'}: expected endpoint=http(s)://HOST, region=NAME, pathStyle=0 or 1`,
    );
  }
  const folder = decoded(url.pathname)?.replace(/^\/+|\/+$/g, '');
  if (folder === undefined) throw wrong('a % in its path is no escape: write %25');
  const endpoint = query.data.endpoint ?? endpointOf(env);
  const region = query.data.region ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? null;
  const pathStyle = query.data.pathStyle === undefined ? endpoint !== null : query.data.pathStyle === '1';
  return {
    url: shown(bucket.data, folder, { endpoint, region: query.data.region ?? null, pathStyle }),
    bucket: bucket.data,
    prefix: folder === '' ? '' : checkPrefix(`${folder}/`),
    endpoint,
    // Stores other than AWS's own take any region.
    region: region ?? (endpoint === null ? null : 'us-east-1'),
    pathStyle,
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function endpointOf(env: Environment): string | null {
  for (const name of ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL']) {
    const value = env[name];
    if (value === undefined || value === '') continue;
    if (!endpointSchema.safeParse(value).success) {
      throw new InputError(`${name}=${value} is no http or https URL`);
    }
    return value;
  }
  return null;
}

interface ShownQuery {
  readonly endpoint: string | null;
  readonly region: string | null;
  readonly pathStyle: boolean;
}

function shown(bucket: string, folder: string, { endpoint, region, pathStyle }: ShownQuery): string {
  const query = new URLSearchParams();
  if (endpoint !== null) query.set('endpoint', endpoint);
  if (region !== null) query.set('region', region);
  if (pathStyle !== (endpoint !== null)) query.set('pathStyle', pathStyle ? '1' : '0');
  const url = new URL(`s3://${bucket}/`);
  url.pathname = folder;
  url.search = query.toString();
  return url.href;
}
