// Whether a Temporal server has a namespace, said in one line where it has not.
import type { WorkflowService } from '@temporalio/client';
import { InputError } from '../domain/errors.ts';

/** gRPC's NOT_FOUND. */
const notFound = 5;

/** @throws InputError (exit 69) where the server has no such namespace. */
export async function checkNamespace(
  service: Pick<WorkflowService, 'describeNamespace'>,
  address: string,
  namespace: string,
): Promise<void> {
  try {
    await service.describeNamespace({ namespace });
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== notFound) throw error;
    throw new InputError(
      `the Temporal server at ${address} has no namespace ${namespace}: make it (temporal operator namespace create --namespace ${namespace} --address ${address}), or name another with --namespace or PASSBAND_TEMPORAL_NAMESPACE`,
      69,
    );
  }
}
