// The supervisor as a program: where every driver finds it, what it is given, and how it says that it cannot begin.

/** How the supervisor ends where it was started with what cannot be (EX_CONFIG). */
export const supervisorConfigStatus = 78;

/** How PID 1 ends for a fault of its own (EX_SOFTWARE): nothing that runs inside is to blame. */
export const supervisorFaultStatus = 70;

/** In every image that has the toolbox as its last layer. */
export const supervisorPath = '/opt/passband/bin/supervisor';

/**
 * Capabilities that root inside an image needs to be root there: owners and modes, other users, its own processes,
 * low ports, chroot. Not among them: raw sockets, devices, tracing, time, mounts, file capabilities. SETPCAP is for the
 * supervisor alone, which takes it from all that it starts: so none of that can look into a connection's process.
 */
export const capabilities = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'NET_BIND_SERVICE',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
] as const;
