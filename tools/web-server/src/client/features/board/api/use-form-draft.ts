import { useState } from 'react';
import { readStored, removeStored, writeStored } from '../../../lib/browser-storage.ts';
import { StageForm } from '../model/stage-form.ts';

const Written = StageForm.partial();

/**
 * A stage's form, with what was written into it before and not sent. This browser keeps that until it is sent or thrown
 * away, so that Escape, a reload or a crash loses nothing.
 *
 * @param of what the form is for, among all such forms
 * @param begin the form as nobody has changed it; asked once
 */
export function useFormDraft(of: string, begin: () => StageForm) {
  const key = `callboard-stage-form:${of}`;
  const [initial] = useState(begin);
  const [written, setWritten] = useState(() => readStored(key, Written, {}));
  const [isFromBefore, setIsFromBefore] = useState(() => Object.keys(written).length > 0);
  return {
    form: { ...initial, ...written },
    /** Whether it holds what was written when it was open before. */
    isFromBefore,
    set(change: Partial<StageForm>): void {
      const all = { ...written, ...change };
      setWritten(all);
      writeStored(key, all);
    },
    /** Throws away what was written. */
    forget(): void {
      setWritten({});
      setIsFromBefore(false);
      removeStored(key);
    },
  };
}
