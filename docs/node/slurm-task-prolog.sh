#!/bin/sh
# TaskProlog of slurm.conf: gives every task IMGMATCH_IMAGE, the image for the GPUs that the task was given.
image=$(sh /etc/imgmatch/fleet.sh) && echo "export IMGMATCH_IMAGE=$image"
exit 0
