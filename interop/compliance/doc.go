// Package compliance runs against graspd what others publish for GRASP: the checks of GRASP-01 and GRASP-06 (grasp-audit), and the client ngit.
package compliance
