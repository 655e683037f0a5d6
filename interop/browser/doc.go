// Package browser looks at the pages with a real browser, as people do: Chromium
// without a window. CHROMIUM says which; without it, and without one on the PATH, the
// tests are left out, as are those under axe-core and Lighthouse where the script install has not run. SHOTS names a folder for pictures.
package browser
