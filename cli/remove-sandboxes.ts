// Removes what an ended or interrupted sweep left on the engine.
import type { SandboxDriver } from '../sandbox/port.ts';
import { openDriver } from '../worker/drivers.ts';

async function removeAll(driver: SandboxDriver, labels: Readonly<Record<string, string>>): Promise<number> {
  const left = await driver.list(labels);
  for (const { name } of left) await driver.destroy(name);
  return left.length;
}

/** Destroys every sandbox of a store on an engine that carries the labels; answers how many there were. */
export async function removeSandboxes(
  engine: string,
  labels: Readonly<Record<string, string>>,
): Promise<number> {
  const driver = openDriver({ sandbox: 'engine', engine }, process.env);
  try {
    return await removeAll(driver, labels);
  } finally {
    await driver.close();
  }
}
