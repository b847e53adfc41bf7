// Whether a service is started again when it ends.
import type { Restart } from '../../domain/services.ts';
import type { ComposeFile } from './compose-file.ts';
import type { NamedTable } from './networks.ts';

export function restartOf(file: ComposeFile, { name, table }: NamedTable): Restart {
  const [policy = '', retries] = (table.restart ?? 'no').split(':');
  switch (policy) {
    case 'no':
    case 'false':
      return { policy: 'no' };
    // Nobody stops a service by hand.
    case 'always':
    case 'unless-stopped':
      return { policy: 'always' };
    case 'on-failure':
      if (retries === undefined) return { policy, retries: null };
      if (/^[1-9]\d*$/.test(retries)) return { policy, retries: Number(retries) };
      break;
    default:
  }
  file.fail(['services', name, 'restart'], `is no policy: ${table.restart ?? ''}`);
  return { policy: 'no' };
}
