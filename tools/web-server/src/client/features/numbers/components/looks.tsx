import css from './numbers.module.css';

/** How many looks there are: each a colour and a pattern. */
const LOOKS = [1, 2, 3, 4, 5, 6] as const;

/** The strokes of each pattern, on 8 by 8: none, rising lines, dots, level lines, a lattice, upright lines. */
const STROKES = [
  '',
  'M-2 10 10 -2M-2 2 2 -2M6 10 10 6',
  '',
  'M0 2h8M0 6h8',
  'M0 0 8 8M8 0 0 8',
  'M2 0v8M6 0v8',
] as const;

const idOf = (look: number): string => `chart-look-${look}`;

/** What fills a series: a colour that people with any colour vision can tell apart, and a pattern beside it. */
export const fillOf = (look: number): string => `url(#${idOf(look)})`;
export const strokeOf = (look: number): string => `var(--chart-${look})`;

/** Defines the looks for all charts of a page. */
export const Looks = () => (
  <svg className={css.looks} aria-hidden>
    <defs>
      {LOOKS.map((look) => (
        <pattern key={look} id={idOf(look)} width={8} height={8} patternUnits="userSpaceOnUse">
          <rect width={8} height={8} fill={strokeOf(look)} fillOpacity={look === 1 ? 1 : 0.28} />
          {look === 3 && (
            <g fill={strokeOf(look)}>
              <circle cx={2} cy={2} r={1.4} />
              <circle cx={6} cy={6} r={1.4} />
            </g>
          )}
          <path d={STROKES[look - 1]} stroke={strokeOf(look)} strokeWidth={1.6} fill="none" />
        </pattern>
      ))}
    </defs>
  </svg>
);

/** A sample of a look, for a legend. */
export const Swatch = ({ look }: { look: number }) => (
  <svg className={css.swatch} width={14} height={14} aria-hidden>
    <rect x={0.5} y={0.5} width={13} height={13} rx={2} fill={fillOf(look)} stroke={strokeOf(look)} />
  </svg>
);
