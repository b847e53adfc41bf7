// What `docker save` and `podman save` write, as the OCI layout that BuildKit builds on.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { InputError } from '../../domain/errors.ts';

const Archive = z
  .array(z.object({ Config: z.string(), Layers: z.array(z.string()) }))
  .length(1, 'it must hold one image');
const Index = z.object({
  manifests: z.array(z.object({ digest: z.string() })).length(1, 'it must hold one image'),
});

const manifestType = 'application/vnd.oci.image.manifest.v1+json';

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/**
 * Makes the unpacked archive `dir` an OCI layout; the digest of its one image. `path`: the archive, for errors.
 * @throws InputError where it is none, or holds several images
 */
export async function layOut(dir: string, path: string): Promise<string> {
  try {
    const listed = await readFile(join(dir, 'manifest.json'), 'utf8').catch(() => null);
    if (listed === null) {
      const index = Index.parse(JSON.parse(await readFile(join(dir, 'index.json'), 'utf8')));
      return index.manifests[0]?.digest ?? '';
    }
    const [image] = Archive.parse(JSON.parse(listed));
    return await write(dir, image ?? { Config: '', Layers: [] });
  } catch (cause) {
    const words = cause instanceof z.ZodError ? cause.issues[0]?.message : String(cause);
    throw new InputError(`${path} is no archive of an image: ${words ?? ''}`);
  }
}

async function write(
  dir: string,
  image: { readonly Config: string; readonly Layers: readonly string[] },
): Promise<string> {
  const blobs = join(dir, 'blobs', 'sha256');
  await mkdir(blobs, { recursive: true });
  const config = await keep(dir, image.Config, 'application/vnd.oci.image.config.v1+json');
  const layers: Descriptor[] = [];
  for (const layer of image.Layers) layers.push(await keep(dir, layer, await layerType(join(dir, layer))));
  const text = JSON.stringify({ schemaVersion: 2, mediaType: manifestType, config, layers });
  const digest = createHash('sha256').update(text).digest('hex');
  await writeFile(join(blobs, digest), text);
  const manifest = { mediaType: manifestType, digest: `sha256:${digest}`, size: Buffer.byteLength(text) };
  await writeFile(join(dir, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [manifest] }));
  await writeFile(join(dir, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  return manifest.digest;
}

/** Gives a file of the archive the name that layouts know it by. */
async function keep(dir: string, name: string, mediaType: string): Promise<Descriptor> {
  const path = await realpath(join(dir, name));
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  const hex = hash.digest('hex');
  await link(path, join(dir, 'blobs', 'sha256', hex)).catch((error: unknown) => {
    // There already: newer archives keep their files under these names.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  });
  return { mediaType, digest: `sha256:${hex}`, size: (await stat(path)).size };
}

async function layerType(path: string): Promise<string> {
  const plain = 'application/vnd.oci.image.layer.v1.tar';
  const head = createReadStream(path, { end: 1 });
  for await (const chunk of head as AsyncIterable<Buffer>) {
    if (chunk[0] === 0x1f && chunk[1] === 0x8b) return `${plain}+gzip`;
  }
  return plain;
}
