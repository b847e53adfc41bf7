// What a failed build or pull says: an engine that did not do its work, a network without an answer, or neither.

/** The runtime or the engine's disk failed: nothing that an image or a Dockerfile holds brings that about. */
const engineFailure =
  /error running container|creating container for|\brunc create failed|\bcrun: |OCI runtime|unable to start container process|failed to create (shim|task)|setting rlimit|no space left on device|disk quota exceeded/i;

/**
 * A registry that is there and has no answer just now. Not among them: one that this machine cannot reach at all
 * (no such host, connection refused), which no waiting mends.
 */
const registryBusy =
  /\b429\b|toomanyrequests|too many requests|\b50[0234]\b|internal server error|bad gateway|service unavailable|gateway time-?out|timeout|timed out|temporary failure|try again|unexpected EOF|connection reset|TLS handshake/i;

/** A package manager, or what else a RUN calls, met a name server or a server that has no answer just now. */
const networkFailure =
  /temporary failure (in name resolution|resolving)|could not resolve host|unable to resolve host address|EAI_AGAIN|ETIMEDOUT|(connection|operation|read) timed out|i\/o timeout|TLS handshake timeout|connection reset by peer|\b429\b[: ]+too many requests|\b50[0234]\b[: ]+(internal server error|bad gateway|service (temporarily )?unavailable|gateway time-?out)|(returned error|HTTP error):? (429|50[0234])\b/i;

/** Engines quote the step that failed: its text is the Dockerfile's and says nothing of the engine. */
const quotedStep = /STEP "(?:[^"\\]|\\.)*"|The command '[^']*'|process "(?:[^"\\]|\\.)*"/gi;

/** A program that the image does not hold, or that is none: the runtime says so in the words of its own failures. */
const noProgram =
  /[^\n]*exec: "(?:[^"\\]|\\.)*": (?:stat [^:\n]*: )?(?:no such file or directory|executable file not found|permission denied|is a directory)/gi;

export const saysEngineFailed = (words: string): boolean =>
  engineFailure.test(words.replaceAll(quotedStep, '').replaceAll(noProgram, ''));

export const saysNetworkFailed = (words: string): boolean => networkFailure.test(words);

export const saysRegistryBusy = (words: string): boolean => registryBusy.test(words);
