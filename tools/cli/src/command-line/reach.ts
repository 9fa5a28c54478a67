import { isIP } from 'node:net';
import { addressList, isAddressEntry, loopbackAddresses } from '@callboard/runtime/address-list';
import type { Exposure } from '@callboard/runtime/supervision';
import { z } from 'zod';
import type { Flag } from './flags.ts';
import { complain, type PathBase, path } from './values.ts';

const value = (name: string, placeholder: string, variable: string, help: string): Flag => ({
  kind: 'value',
  name,
  placeholder,
  variable,
  help,
  repeatable: false,
});

/** The options that say how people reach the board from other machines. */
export const exposureFlags: readonly Flag[] = [
  value(
    'host',
    'ADDRESS',
    'CALLBOARD_HOST',
    'Address to listen on; beyond this machine only with a certificate or behind a proxy (127.0.0.1).',
  ),
  value(
    'public-url',
    'URL',
    'CALLBOARD_PUBLIC_URL',
    'The address that people open, if it is not that of --host and --port.',
  ),
  value(
    'behind-proxy',
    'ADDRESSES',
    'CALLBOARD_BEHIND_PROXY',
    'Addresses or networks of the proxies in front, separated by commas; needs --public-url.',
  ),
  value(
    'tls-cert',
    'FILE',
    'CALLBOARD_TLS_CERT',
    'Certificate with its chain, in PEM: the board speaks HTTPS. A new one is taken while it runs.',
  ),
  value('tls-key', 'FILE', 'CALLBOARD_TLS_KEY', 'The key of the certificate, in PEM.'),
];

const host = z
  .string()
  .refine(
    (text) => isIP(text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text),
    complain('is not an address'),
  );

const publicUrl = z
  .string()
  .refine(isOrigin, {
    ...complain('is not the address of a site: write https://, the name, and the port if there is one'),
    abort: true, // there is no origin to go on with
  })
  .transform((text) => new URL(text).origin);

const entriesOf = (text: string): string[] => text.split(/[\s,]+/).filter((entry) => entry !== '');

const proxies = z
  .string()
  .refine(
    (text) => entriesOf(text).length > 0 && entriesOf(text).every(isAddressEntry),
    complain('is not a list of addresses (127.0.0.1,10.0.0.0/8)'),
  )
  .transform(entriesOf);

/** The schemas of these options. */
export const exposureSchemas = (base: PathBase) => ({
  host: host.default('127.0.0.1'),
  'public-url': publicUrl.nullable().default(null),
  'behind-proxy': proxies.default([]),
  'tls-cert': path(base).nullable().default(null),
  'tls-key': path(base).nullable().default(null),
});

type ExposureOptions = z.infer<z.ZodObject<ReturnType<typeof exposureSchemas>>>;
type Complaint = (option: keyof ExposureOptions, text: string) => void;

/** Whether only this machine can reach an address to listen on. */
export const isLoopback = (address: string): boolean => address === 'localhost' || loopbackAddresses.has(address);

const everyAddress = addressList(['0.0.0.0', '::']);

/** Checks, for a schema, that the options fit together, and that no login crosses a network unencrypted. */
export const exposureFits = (given: ExposureOptions, context: z.RefinementCtx): void =>
  check(given, (option, message) => context.addIssue({ code: 'custom', path: [option], message }));

function check(given: ExposureOptions, complaint: Complaint): void {
  const { 'public-url': url, 'behind-proxy': behind, 'tls-cert': cert, 'tls-key': key } = given;
  if (cert !== null && key === null) complaint('tls-cert', 'needs --tls-key, the key of this certificate');
  if (key !== null && cert === null) complaint('tls-key', 'needs --tls-cert, the certificate of this key');
  if (behind.length > 0 && url === null)
    complaint(
      'behind-proxy',
      'needs --public-url, the address that people open, for example https://callboard.example.com',
    );
  if (url !== null) checkPublicUrl(new URL(url), given, complaint);
  if (isLoopback(given.host)) return;
  if (behind.length === 0 && cert === null)
    complaint(
      'host',
      `${JSON.stringify(given.host)} can be reached from other machines, and logins would cross the network unencrypted. ` +
        'Give Callboard a certificate (--tls-cert, --tls-key), or put a proxy in front (--behind-proxy, --public-url). ' +
        'Without either, use 127.0.0.1 and an SSH tunnel',
    );
  else if (url === null && everyAddress.has(given.host))
    complaint(
      'host',
      `${JSON.stringify(given.host)} needs --public-url: Callboard answers only under names that it knows`,
    );
}

function checkPublicUrl({ protocol, hostname }: URL, given: ExposureOptions, complaint: Complaint): void {
  const isEncrypted = given['tls-cert'] !== null;
  if (protocol === 'https:') {
    if (!isEncrypted && given['behind-proxy'].length === 0)
      complaint(
        'public-url',
        'is HTTPS: name the proxy that speaks it (--behind-proxy), or a certificate (--tls-cert, --tls-key)',
      );
  } else if (isEncrypted || given['behind-proxy'].length > 0 || !isLoopback(hostname.replace(/^\[(.*)\]$/, '$1')))
    complaint(
      'public-url',
      'must begin with https://, or logins cross the network unencrypted; http:// is for a tunnel to localhost',
    );
}

/** Returns how the board is reached. Call it with options that were checked. */
export function exposureOf(given: ExposureOptions): Exposure {
  const { 'public-url': url, 'behind-proxy': behind, 'tls-cert': cert, 'tls-key': key } = given;
  return { publicUrl: url, proxies: behind, tls: cert === null || key === null ? null : { cert, key } };
}

function isOrigin(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { origin, href } = new URL(text);
  return href === `${origin}/`;
}
