import type { ReactNode } from 'react';
import { useKeyboardInset } from '../../../ui/use-keyboard-inset.ts';
import css from './forms.module.css';

/** A form's buttons, which stay in sight however long the form is, also above a phone's keyboard. */
export const FormEnd = ({ children }: { children: ReactNode }) => (
  <div className={css.end} style={{ bottom: useKeyboardInset() }}>
    {children}
  </div>
);
