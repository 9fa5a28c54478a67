import { useCallback, useEffect } from 'react';
import { useBoardUi } from '../model/board-ui.ts';
import { useBoardFilter } from './use-board-filter.ts';

/** The address follows once nothing was typed for this long: a change of it draws the whole page again. */
const REST_MS = 200;

/** The text that the board is filtered by, as it is typed. Leaving the field writes it to the address at once. */
export function useTypedFilter() {
  const { filter, setFilter } = useBoardFilter();
  const typed = useBoardUi((ui) => ui.typed);
  const save = useCallback(() => {
    const { typed: text, setTyped } = useBoardUi.getState();
    if (text === null) return;
    setFilter({ text });
    setTyped(null);
  }, [setFilter]);
  useEffect(() => {
    if (typed === null) return;
    const timer = setTimeout(save, REST_MS);
    return () => clearTimeout(timer);
  }, [typed, save]);
  useEffect(() => () => useBoardUi.getState().setTyped(null), []);
  return { text: typed ?? filter.text, type: useBoardUi.getState().setTyped, save };
}
