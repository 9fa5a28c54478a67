import { type ReactNode, useSyncExternalStore } from 'react';
import css from './forms.module.css';

/** A form's buttons, which stay in sight however long the form is, also above a phone's keyboard. */
export const FormEnd = ({ children }: { children: ReactNode }) => (
  <div className={css.end} style={{ bottom: useKeyboardInset() }}>
    {children}
  </div>
);

/** Less is a change of the browser's own bars. */
const SMALLEST_KEYBOARD = 80;

function subscribe(changed: () => void): () => void {
  const view = window.visualViewport;
  view?.addEventListener('resize', changed);
  view?.addEventListener('scroll', changed);
  return () => {
    view?.removeEventListener('resize', changed);
    view?.removeEventListener('scroll', changed);
  };
}

function read(): number {
  const view = window.visualViewport;
  if (view?.scale !== 1) return 0;
  const covered = Math.round(window.innerHeight - view.height - view.offsetTop);
  return covered < SMALLEST_KEYBOARD ? 0 : covered;
}

/** How many pixels at the bottom of the page a phone's keyboard covers, in a browser that does not make the page smaller. */
export const useKeyboardInset = (): number => useSyncExternalStore(subscribe, read);
