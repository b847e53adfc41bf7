// Prints the Debian mirror that this machine's own apt is set to; nothing where it has none.
import { mirrorOf } from '../../sandbox/images/debootstrap.ts';

process.stdout.write(`${(await mirrorOf('debian', '/etc/apt')) ?? ''}\n`);
