// Package compliance runs the checks of GRASP-01 and GRASP-06 that others publish (grasp-audit) against graspd.
package compliance
