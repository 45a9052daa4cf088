// Package image checks the programs of the images, the files that build the images, and, where a container engine
// runs, the images.
package image
