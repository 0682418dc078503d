"""Descriptions of the policies, by family; `parse` and `spell` convert from and to text."""

from __future__ import annotations

from quickswap.policies.backfilling import EASY, Conservative
from quickswap.policies.base import Policy
from quickswap.policies.clocks import NMSR, RandomizedTimers
from quickswap.policies.orders import FCFS, LSF, MSF, FirstFit, Smash
from quickswap.policies.preemptive import DivisorFilling, MaxWeight, ServerFilling
from quickswap.policies.quickswap import MSFQ, AdaptiveQuickswap, StaticQuickswap
from quickswap.policies.slurm import Slurm
from quickswap.policies.spelling import POLICIES, parse, spell
from quickswap.policies.splitting import BalancedSplitting

__all__ = [
    "EASY",
    "FCFS",
    "LSF",
    "MSF",
    "MSFQ",
    "NMSR",
    "POLICIES",
    "AdaptiveQuickswap",
    "BalancedSplitting",
    "Conservative",
    "DivisorFilling",
    "FirstFit",
    "MaxWeight",
    "Policy",
    "RandomizedTimers",
    "ServerFilling",
    "Slurm",
    "Smash",
    "StaticQuickswap",
    "parse",
    "spell",
]
