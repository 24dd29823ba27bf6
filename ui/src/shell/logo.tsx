/** Water held back, in two lines. */
export function Logo() {
  return (
    <span className="logo">
      <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
        <rect width="32" height="32" rx="8" className="logo-field" />
        <path
          d="M5 13c3.7 0 3.7 3 7.3 3s3.7-3 7.4-3 3.6 3 7.3 3M5 20c3.7 0 3.7 3 7.3 3s3.7-3 7.4-3 3.6 3 7.3 3"
          className="logo-water"
        />
      </svg>
      <span>Pondage</span>
    </span>
  );
}
