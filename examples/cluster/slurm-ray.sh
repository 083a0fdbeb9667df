#!/usr/bin/env bash
# Start a Ray cluster on four machines, and run a study on it.
# sbatch slurm-ray.sh study.yaml
#SBATCH --job-name=cheaptalk-ray
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail

study=${1:?name the study: sbatch slurm-ray.sh study.yaml}
: "${CHEAPTALK_STORE:?set it to a file on a disk of the cluster, or to a database}"

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export RAY_ADDRESS="$head:6379"
ray get-auth-token --generate >/dev/null # in the shared home folder

srun ray symmetric-run --address "$RAY_ADDRESS" --min-nodes "$SLURM_JOB_NUM_NODES" \
  --num-cpus "$SLURM_CPUS_PER_TASK" -- cheaptalk run "$study" --cluster ray --yes
