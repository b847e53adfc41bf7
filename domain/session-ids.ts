// Session ids of requests to a model that belong to no trial.

/** Of the one token that a sweep asks of a model that was away. */
export const modelProbeSession = (sweep: string): string => `${sweep}/probe`;

export const isModelProbe = (session: string): boolean => /^[A-Za-z0-9._-]+\/probe$/.test(session);
