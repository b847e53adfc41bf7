// The failure with a class that something ends with.
import { ClassifiedError } from '../../domain/errors.ts';

/** @throws Error where it ends well, or with another error */
export async function failureOf(asking: Promise<unknown>): Promise<ClassifiedError> {
  const error = await asking.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ClassifiedError)) throw new Error(`no classified failure: ${String(error)}`);
  return error;
}
