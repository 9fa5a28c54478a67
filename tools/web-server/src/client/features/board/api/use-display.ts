import { useCallback } from 'react';
import { useSearchParams } from 'react-router';
import { currentParams } from '../../../lib/use-url-text.ts';
import { type Display, readDisplay, writeDisplay } from '../model/display.ts';

/** How the board is shown, from the URL. Changing it keeps the filter. */
export function useDisplay() {
  const [params, setParams] = useSearchParams();
  const display = readDisplay(params);
  const setDisplay = useCallback(
    (next: Display) => setParams(writeDisplay(currentParams(), next), { replace: true }),
    [setParams],
  );
  return { display, setDisplay };
}
