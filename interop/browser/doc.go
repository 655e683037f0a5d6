// Package browser looks at the pages with a real browser, as people do: Chromium
// without a window. CHROMIUM says which; without it, and without one on the PATH, the
// tests are left out. SHOTS names a folder for pictures.
package browser
