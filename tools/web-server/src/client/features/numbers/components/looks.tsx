import css from './numbers.module.css';

/** How many looks there are: each a colour and a pattern. */
const CHECKS = [1, 2, 3, 4, 5, 6] as const;

/** The strokes of each pattern, on 8 by 8: none, rising lines, dots, level lines, a lattice, upright lines. */
const STROKES = [
  '',
  'M-2 10 10 -2M-2 2 2 -2M6 10 10 6',
  '',
  'M0 2h8M0 6h8',
  'M0 0 8 8M8 0 0 8',
  'M2 0v8M6 0v8',
] as const;

const idOf = (check: number): string => `chart-look-${check}`;

/** What fills a series: a colour that people with any colour vision can tell apart, and a pattern beside it. */
export const fillOf = (check: number): string => `url(#${idOf(check)})`;
export const strokeOf = (check: number): string => `var(--chart-${check})`;

/** Defines the looks for all charts of a page. */
export const Checks = () => (
  <svg className={css.looks} aria-hidden>
    <defs>
      {CHECKS.map((check) => (
        <pattern key={check} id={idOf(check)} width={8} height={8} patternUnits="userSpaceOnUse">
          <rect width={8} height={8} fill={strokeOf(check)} fillOpacity={check === 1 ? 1 : 0.28} />
          {check === 3 && (
            <g fill={strokeOf(check)}>
              <circle cx={2} cy={2} r={1.4} />
              <circle cx={6} cy={6} r={1.4} />
            </g>
          )}
          <path d={STROKES[check - 1]} stroke={strokeOf(check)} strokeWidth={1.6} fill="none" />
        </pattern>
      ))}
    </defs>
  </svg>
);

/** A sample of a look, for a legend. */
export const Swatch = ({ check }: { check: number }) => (
  <svg className={css.swatch} width={14} height={14} aria-hidden>
    <rect x={0.5} y={0.5} width={13} height={13} rx={2} fill={fillOf(check)} stroke={strokeOf(check)} />
  </svg>
);
