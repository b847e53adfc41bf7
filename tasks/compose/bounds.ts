// Values of kept keys that one pod cannot give: rights, platforms, copies, devices, shared namespaces.
import type { ComposeFile } from './compose-file.ts';
import type { KeyPath } from './document.ts';
import type { ServiceTable } from './schema.ts';

/** What root has in every sandbox (sandbox/engine/container.ts): to be given it is to be given nothing. */
const everyones = new Set([
  ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID'],
  'SYS_CHROOT',
]);

export function checkBounds(file: ComposeFile, name: string, table: ServiceTable, isMain: boolean): void {
  const at: KeyPath = ['services', name];
  table.cap_add?.forEach((capability, index) => {
    const bare = capability.toUpperCase().replace(/^CAP_/, '');
    if (!everyones.has(bare)) {
      file.refuse([...at, 'cap_add', index], `cap_add ${bare}`, 'it is more than root in a sandbox has');
    }
  });
  table.security_opt.forEach((option, index) => {
    const narrows = /^no-new-privileges(?:[:=]true)?$/.test(option);
    if (/^(?:label[:=].*|no-new-privileges[:=]false)$/.test(option) || (narrows && !isMain)) return;
    const why = narrows ? 'the agent would have rights that the task takes from it' : 'the driver chooses';
    file.refuse([...at, 'security_opt', index], `security_opt ${option}`, why);
  });
  if (table.ipc !== undefined && !/^(?:shareable|private|service:.*)?$/.test(table.ipc)) {
    file.refuse([...at, 'ipc'], `ipc ${table.ipc}`, 'it is the node’s');
  }
  if (table.platform !== undefined && !/^linux(?:\/(?:amd64|x86_64))?$/.test(table.platform)) {
    file.refuse([...at, 'platform'], `platform ${table.platform}`, 'nodes are linux/amd64');
  }
  for (const [key, copies] of [
    ['scale', table.scale],
    ['deploy', table.deploy?.replicas],
  ] as const) {
    if (copies !== undefined && copies !== 1) {
      file.refuse(
        [...at, key],
        `${copies} copies of ${name}`,
        'in one pod they would take each other’s ports',
      );
    }
  }
  if ((table.deploy?.resources?.reservations?.devices ?? []).length > 0) {
    file.refuse([...at, 'deploy'], 'devices', 'a pod has no devices of its node');
  }
  if (table.hostname !== undefined && table.hostname.length > 253)
    file.fail([...at, 'hostname'], 'is too long');
}
