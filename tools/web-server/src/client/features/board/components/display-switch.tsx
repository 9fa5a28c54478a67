import { IconColumns3, IconHierarchy, IconLayoutRows } from '@tabler/icons-react';
import { useSearchParams } from 'react-router';
import { useShortcuts } from '../../../ui/shortcuts.ts';
import { useDisplay } from '../api/use-display.ts';
import { DISPLAY_TEXTS, DISPLAYS, writeDisplay } from '../model/display.ts';
import css from './board.module.css';

const ICONS = { columns: IconColumns3, lanes: IconLayoutRows, graph: IconHierarchy } as const;

/** Chooses between columns, lanes of groups and the graph of dependencies. V goes from one to the next. */
export function DisplaySwitch() {
  const { display, setDisplay } = useDisplay();
  const [params] = useSearchParams();
  useShortcuts({
    v: () => {
      if (document.querySelector('[role="dialog"], [role="menu"]') !== null) return false;
      setDisplay(DISPLAYS[(DISPLAYS.indexOf(display) + 1) % DISPLAYS.length] ?? 'columns');
      return true;
    },
  });
  return (
    <nav className={css.displays} aria-label="Show the board as">
      {DISPLAYS.map((one) => {
        const Icon = ICONS[one];
        return (
          <a
            key={one}
            className={css.display}
            href={`/?${writeDisplay(params, one)}`}
            aria-current={one === display ? 'page' : undefined}
            title={`${DISPLAY_TEXTS[one]} (V for the next view)`}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              setDisplay(one);
            }}
          >
            <Icon size={16} aria-hidden />
            <span>{DISPLAY_TEXTS[one]}</span>
          </a>
        );
      })}
    </nav>
  );
}
