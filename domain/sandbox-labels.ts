// Labels by which a sandbox is found again when nobody holds it any more.

/** The store whose trials the sandbox belongs to, by its id. */
export const storeLabel = 'passband.store';

/**
 * The id of the workflow that it was made for, whole: it is asked for by it, and never selected by it, so that a
 * driver whose labels are short (63 characters) keeps it as an annotation.
 */
export const workflowLabel = 'passband.workflow';

/** What finds all sandboxes of one sweep of a store, whole: a driver whose labels are short keeps two long names apart. */
export const sweepLabels = (storeId: string, sweep: string): Readonly<Record<string, string>> => ({
  [storeLabel]: storeId,
  'passband.sweep': sweep,
});
