/** Callboard's sign: the rows of a board, one of them with its call. */
export const BrandMark = ({ size = 20 }: { size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 20 20" fill="currentColor" aria-hidden>
    <rect x="1" y="2.5" width="18" height="3" rx="1.5" opacity=".5" />
    <rect x="1" y="8.5" width="9" height="3" rx="1.5" />
    <circle cx="16" cy="10" r="3" />
    <rect x="1" y="14.5" width="18" height="3" rx="1.5" opacity=".5" />
  </svg>
);
