// Removes what an ended or interrupted sweep left on its engine or cluster.
import { openDriver, type DriverChoice } from '../worker/drivers.ts';

/** Removes every sandbox that carries the labels, and what else was made for them. */
export async function removeSandboxes(
  choice: DriverChoice,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  const driver = await openDriver(choice, process.env);
  try {
    await driver.removeAll(labels);
  } finally {
    await driver.close();
  }
}
