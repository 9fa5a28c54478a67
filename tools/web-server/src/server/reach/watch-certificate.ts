import { type CertificateFiles, type CertificatePair, readCertificate } from '@callboard/runtime/certificate';
import { messageOf } from '@callboard/runtime/errors';

export interface CertificateWatchParts {
  files: CertificateFiles;
  /** The pair in use. */
  loaded: CertificatePair;
  /** How often the files are read. They are small, and reading them sees every way of replacing them. */
  checkMs: number;
  onChange: (pair: CertificatePair) => void;
  /** The files cannot be used: in words; null once they can. Called when that changes. */
  onTrouble: (words: string | null) => void;
}

/**
 * Looks for a new certificate. One that cannot be used changes nothing. It is told if it is still so at the next look: who
 * replaces the two files does it one after the other.
 * @returns how to end it
 */
export function watchCertificate({ files, loaded, checkMs, onChange, onTrouble }: CertificateWatchParts): () => void {
  let current = loaded;
  let failure: string | null = null;
  let told: string | null = null;
  let isLooking = false;

  function tell(words: string | null): void {
    if (words === told) return;
    told = words;
    onTrouble(words);
  }

  async function look(): Promise<void> {
    try {
      const pair = await readCertificate(files);
      failure = null;
      tell(null);
      if (pair.cert.equals(current.cert) && pair.key.equals(current.key)) return;
      current = pair;
      onChange(pair);
    } catch (error) {
      const words = messageOf(error);
      if (words === failure) tell(keepsOld(words, current));
      failure = words;
    }
  }

  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => {
      isLooking = false;
    });
  }, checkMs).unref();
  return () => clearInterval(timer);
}

const keepsOld = (cause: string, { validUntil }: CertificatePair): string =>
  `The new certificate cannot be used. ${cause} Callboard goes on with the one before, valid until ${validUntil.toISOString().slice(0, 10)}, and reads the files again.`;
