// The images of a task: what the agent's sandbox is made of, and a verifier's own, where it has one.
import { parse as parseYaml } from 'yaml';
import type { Task } from '../domain/task.ts';
import type { TaskConfig } from './config.ts';
import { chooseContext } from './dockerfile.ts';
import type { Findings } from './findings.ts';
import type { Layout } from './layout.ts';

export interface ImageContext {
  readonly config: TaskConfig;
  readonly layout: Layout;
  readonly findings: Findings;
}

/** Compose files that the task is run by, null where there is none. */
export interface ComposeFiles {
  readonly environment: string | null;
  readonly verifier: string | null;
}

/** The image that the agent works in; null after an error finding, or where only a compose file can name it. */
export async function readImage(
  { config, layout, findings }: ImageContext,
  compose: ComposeFiles,
): Promise<Task['image'] | null> {
  const reference = config.toml.environment.docker_image;
  const hasDockerfile = layout.hasFile('environment/Dockerfile');
  if (reference !== undefined) {
    if (hasDockerfile) {
      const place = config.place('environment', 'docker_image');
      findings.warn(place, 'is used as it is: environment/Dockerfile is not built');
    }
    return { kind: 'prebuilt', reference };
  }
  if (hasDockerfile) {
    const text = await layout.readText('environment/Dockerfile', findings);
    if (text === null) return null;
    return { kind: 'build', ...chooseContext('environment', text, layout.folder.files, findings) };
  }
  if (compose.environment !== null) return null;
  findings.error(
    { file: 'environment/Dockerfile' },
    'is missing, and task.toml names no environment.docker_image',
  );
  return null;
}

/** Of [verifier.environment] or tests/Dockerfile; null where the verifier runs in the task's image. */
export async function readVerifierImage({
  config,
  layout,
  findings,
}: ImageContext): Promise<Task['verifierImage']> {
  const { verifier, steps } = config.toml;
  steps.forEach((step, index) => {
    const own =
      step.verifier.environment?.docker_image !== undefined ||
      layout.hasFile(`steps/${step.name}/tests/Dockerfile`);
    if (own) {
      const place = config.place('steps', index, 'name');
      findings.error(
        place,
        'has a verifier image of its own: one for the whole task is supported',
        'unsupported',
      );
    }
  });
  if (verifier.environment_mode === 'shared') return null;
  const reference = verifier.environment?.docker_image;
  if (reference !== undefined) return { kind: 'prebuilt', reference };
  if (!layout.hasFile('tests/Dockerfile')) return null;
  const text = await layout.readText('tests/Dockerfile', findings);
  if (text === null) return null;
  chooseContext('tests', text, layout.folder.files, findings);
  return { kind: 'build', dir: 'tests', dockerfile: 'Dockerfile' };
}

export async function findComposeFiles(context: ImageContext): Promise<ComposeFiles> {
  const shared = context.config.toml.verifier.environment_mode === 'shared';
  return {
    environment: await composeIn(context, 'environment'),
    verifier: shared ? null : await composeIn(context, 'tests'),
  };
}

/**
 * docker-compose.yaml is the format's name for it. A docker-compose.yml beside a Dockerfile is most often a fixture
 * of the task: it counts where it has the format's own service, `main`.
 */
async function composeIn({ layout, findings }: ImageContext, dir: string): Promise<string | null> {
  for (const name of ['docker-compose.yaml', 'docker-compose.yml']) {
    const path = `${dir}/${name}`;
    if (!layout.hasFile(path)) continue;
    const services = servicesOf((await layout.readText(path, findings)) ?? '');
    const mayBeFixture = name.endsWith('.yml') && layout.hasFile(`${dir}/Dockerfile`);
    if (services !== null && (!mayBeFixture || services.includes('main'))) return path;
    findings.warn(
      { file: path },
      'is taken as a plain file of the task: it is no compose file of the format',
    );
  }
  return null;
}

function servicesOf(text: string): string[] | null {
  let document: unknown;
  try {
    document = parseYaml(text, { logLevel: 'error' });
  } catch {
    // No YAML, so no compose file: a fixture, and a task may well be about mending it.
    return null;
  }
  if (typeof document !== 'object' || document === null || !('services' in document)) return null;
  const { services } = document;
  return typeof services === 'object' && services !== null && !Array.isArray(services)
    ? Object.keys(services)
    : null;
}
