// Package demo shows, on one machine alone, how an empty relay becomes complete from three others, and stays complete. It runs whole nodes on
// loopback, one of which hangs up all the time, and tells an onlooker what happens.
//
// Read demo.go first, and weather.go for what goes wrong meanwhile. The demo never runs beside real data: all that it makes is in a directory of its own, which goes with it.
package demo
