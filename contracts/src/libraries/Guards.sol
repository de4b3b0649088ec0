// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {IAccessWindowEvents} from "../interfaces/IAccessWindowEvents.sol";
import {State} from "./State.sol";
import {Subscription} from "./Subscriptions.sol";

/// @title Whose window it is
/// @notice An agent decides whether calls must prove its key, before its first purchase as well, and nobody decides for it:
/// by its own transaction, or by its signature, which serves once, on one chain, for one contract.
library Guards {
    /// @notice Sets the guard for the agent; whatever it signed before serves no longer.
    function set(State storage state, address agent, bool isGuarded, bytes calldata signature) internal {
        Subscription memory subscription = state.subscriptions.load(agent);
        if (msg.sender != agent && !_isSigned(subscription, agent, isGuarded, signature)) {
            revert IAccessWindowEvents.AccessWindow_NotAgent(agent);
        }
        ++subscription.guardNonce;
        subscription.isGuarded = isGuarded;
        state.subscriptions.keep(agent, subscription);
        emit IAccessWindowEvents.GuardSet(agent, isGuarded);
    }

    function _isSigned(Subscription memory subscription, address agent, bool isGuarded, bytes calldata signature)
        private
        view
        returns (bool)
    {
        bytes32 statement =
            keccak256(abi.encode(block.chainid, address(this), agent, isGuarded, subscription.guardNonce));
        (address signer, ECDSA.RecoverError error,) =
            ECDSA.tryRecover(MessageHashUtils.toEthSignedMessageHash(statement), signature);
        return error == ECDSA.RecoverError.NoError && signer == agent;
    }
}
