// Bars: of a chart over time, and of how much of a limit is used.
import { share, top, type Bar } from "../bars";

/** Chart draws one bar a value. The table beside it says the same to those who do not see it. */
export function Chart({ label, of, format }: { label: string; of: Bar[]; format: (value: number) => string }) {
  const max = top(of.map((b) => b.value));
  const [width, height, left, below] = [800, 180, 64, 22];
  const step = (width - left) / Math.max(1, of.length);
  const every = Math.ceil(of.length / 10);
  return (
    <figure class="chart">
      <figcaption class="dim">{label}</figcaption>
      <svg viewBox={`0 0 ${width} ${height + below}`} role="img" aria-label={`${label}. The table has the figures.`}>
        {[0, 0.5, 1].map((f) => (
          <g key={f}>
            <line class="chart-line" x1={left} x2={width} y1={height - f * (height - 10)} y2={height - f * (height - 10)} />
            <text class="chart-text" x={left - 6} y={height - f * (height - 10) + 4} text-anchor="end">{format(max * f)}</text>
          </g>
        ))}
        {of.map((b, i) => {
          const h = (share(b.value, max) / 100) * (height - 10);
          return (
            <g key={b.key}>
              <rect class="chart-bar" x={left + i * step + step * 0.12} y={height - h} width={step * 0.76} height={h} rx="2"><title>{b.title}</title></rect>
              {i % every === 0 && <text class="chart-text" x={left + (i + 0.5) * step} y={height + 15} text-anchor="middle">{b.name}</text>}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

/** Meter shows what is used of a limit, and apart from it what is reserved: running turns may use it, or give it back. */
export function Meter({ label, used, reserved = 0, max, format }: { label: string; used: number; reserved?: number; max: number; format: (n: number) => string }) {
  const [a, b] = [share(used, max), share(used + reserved, max)];
  const state = used >= max ? "full" : used + reserved >= max * 0.8 ? "near" : "";
  const said = `${format(used)} used${reserved ? `, ${format(reserved)} reserved` : ""} of ${format(max)}`;
  return (
    <div class={`meter ${state}`} role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={max} aria-valuenow={Math.min(used, max)} aria-valuetext={said}>
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="meter-all" width="100" height="6" rx="1" /><rect class="meter-reserved" x={a} width={b - a} height="6" /><rect class="meter-used" width={a} height="6" rx="1" />
      </svg>
      <span class="meter-text">{label}: {said}</span>
    </div>
  );
}
