/** A host name, as far as it needs no quoting anywhere: letters, digits, hyphens, underscores and single dots. */
const NAME = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
const IPV6 = /^(?=.*:.*:)[0-9a-f:]+(?::\d{1,3}(?:\.\d{1,3}){3})?$/;
const LONGEST = 253;

/**
 * The rule that lets exactly this host through the sandbox, and nothing else; null for what is not plainly one host (a
 * wildcard, a port, a character that means something in a rule), which is never kept.
 */
export function hostRule(host: string): string | null {
  const name = host.toLowerCase().replace(/\.$/, '');
  if (name.length > LONGEST) return null;
  if (NAME.test(name)) return name;
  const address = name.replace(/^\[(.*)\]$/, '$1');
  return IPV6.test(address) ? `[${address}]` : null;
}
