// Each task's gate as one character, so that the gates of a thousand tasks are a kilobyte of a sweep's state.
import type { FailureClass, RejectionReason } from '../domain/failures.ts';
import type { GateReport } from './reports.ts';

/** Marks travel in the state of running sweeps: a letter is never given another meaning. */
const rejectionMarks: Record<RejectionReason, string> = {
  invalid: '0',
  duplicate: '1',
  unsupported: '2',
  'build-fails': '3',
  'oracle-fails': '4',
  'nop-passes': '5',
  'unsolvable-offline': '6',
  'no-oracle': '7',
  'ambiguous-reward': '8',
};
const failureMarks: Record<FailureClass, string> = {
  SandboxLost: 'A',
  SandboxUnschedulable: 'B',
  ImagePullTransient: 'C',
  ExecBroken: 'D',
  PlatformUnavailable: 'E',
  ModelUnavailable: 'F',
  StreamBroken: 'G',
  StoreUnavailable: 'H',
  TaskInvalid: 'I',
  ImageMissing: 'J',
  VerifierBroken: 'K',
  ConfigInvalid: 'L',
  Forbidden: 'M',
  ModelNotFound: 'N',
  EgressOpen: 'O',
  EgressUnprovable: 'P',
  BudgetExhausted: 'Q',
  Unexpected: 'R',
};

export type GateMark =
  | { readonly kind: 'open' | 'inFlight' | 'kept' | 'unaudited' }
  | { readonly kind: 'rejected'; readonly reason: RejectionReason }
  | { readonly kind: 'unformed'; readonly failureClass: FailureClass };

const simpleMarks = { open: '.', inFlight: '~', kept: 'k', unaudited: 'u' } as const;

const marks = new Map<string, GateMark>([
  ...Object.entries(simpleMarks).map(([kind, mark]): [string, GateMark] => [
    mark,
    { kind: kind as keyof typeof simpleMarks },
  ]),
  ...Object.entries(rejectionMarks).map(([reason, mark]): [string, GateMark] => [
    mark,
    { kind: 'rejected', reason: reason as RejectionReason },
  ]),
  ...Object.entries(failureMarks).map(([name, mark]): [string, GateMark] => [
    mark,
    { kind: 'unformed', failureClass: name as FailureClass },
  ]),
]);

export const openMark = simpleMarks.open;
export const inFlightMark = simpleMarks.inFlight;

/** @throws RangeError on a character that is no mark. */
export function readMark(mark: string | undefined): GateMark {
  const read = mark === undefined ? undefined : marks.get(mark);
  if (read === undefined) throw new RangeError(`«${mark ?? 'nothing'}» marks no gate`);
  return read;
}

/** The mark of a gate that ended; a cancelled one is open again. */
export function markOf(ended: GateReport['ended']): string {
  switch (ended.kind) {
    case 'cancelled':
      return openMark;
    case 'unformed':
      return failureMarks[ended.failureClass];
    case 'formed':
      if (ended.summary.outcome !== 'rejected') return simpleMarks[ended.summary.outcome];
      return rejectionMarks[ended.summary.reason ?? 'oracle-fails'];
  }
}
